"""The one page over all scales and profiles: results/index.html, the same in short as README.md, and the CSV files behind its numbers."""

from core.report.page.content import Page, Section, Shown, gathered_page
from core.report.page.writing import page_files

__all__ = ["Page", "Section", "Shown", "gathered_page", "page_files"]
