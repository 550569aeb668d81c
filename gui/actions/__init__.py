"""The table of actions; menus, shortcuts and the command palette are built from it."""
