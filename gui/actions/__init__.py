"""The table of actions, and what is made of it: menus, shortcuts, the command palette."""
