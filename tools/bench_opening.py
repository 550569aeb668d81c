"""How long the window does not answer while recorded runs are opened and their pages turned.

``python -m tools.bench_opening`` opens each recorded run several times in the real window and prints, for each, the
longest single piece of work of the window's thread (its own time, so that other load of the machine does not count).
"""

from __future__ import annotations

from tools.measuring import ROOT, Measured

TIMES = 5


def main() -> None:
    """Open, turn pages, close; print milliseconds."""
    with Measured() as app:
        for folder in sorted((ROOT / "samples" / "recorded").iterdir()):
            opened, turned = [], []
            for _ in range(TIMES):
                opened.append(1000 * app.longest(lambda folder=folder: app.window.runs.show_folder(folder), 1000))
                pages = app.window.tabs.currentWidget().panel.pages
                for page in range(1, pages.count()):
                    turned.append(1000 * app.longest(lambda pages=pages, page=page: pages.setCurrentIndex(page), 300))
                app.window.run_tabs.close_current()
                app.wait(100)
            order = sorted(opened[1:])
            print(
                f"{folder.name}: opened for the first time {opened[0]:.0f} ms, later {order[len(order) // 2]:.0f} ms "
                f"(worst {order[-1]:.0f}); a page turned {sorted(turned)[len(turned) // 2]:.0f} ms "
                f"(worst {max(turned):.0f})"
            )


if __name__ == "__main__":
    main()
