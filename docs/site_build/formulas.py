"""Formulas as MathML, made when the site is built, so that no page loads a script for them."""

from __future__ import annotations

import html
import re

from latex2mathml.converter import convert

# What the Markdown extension arithmatex leaves of $...$ and of $$...$$.
_INLINE = re.compile(r'<span class="arithmatex">\\\((.+?)\\\)</span>', re.DOTALL)
_BLOCK = re.compile(r'<div class="arithmatex">\s*\\\[(.+?)\\\]\s*</div>', re.DOTALL)


def with_mathml(page: str) -> str:
    """Return the HTML with every formula as MathML."""
    page = _INLINE.sub(lambda match: _mathml(match[1], "inline"), page)
    return _BLOCK.sub(
        lambda match: f'<div class="formula">{_mathml(match[1], "block")}</div>', page
    )


def _mathml(formula: str, display: str) -> str:
    return convert(html.unescape(formula).strip(), display=display)
