// Runs before the first paint, so that the page does not flash in the wrong theme. Stores only the choice on the device.
(() => {
  const root = document.documentElement;
  const read = () => {
    try {
      return localStorage.getItem('theme');
    } catch {
      return null;
    }
  };
  const keep = (theme) => {
    try {
      localStorage.setItem('theme', theme);
    } catch {
      // Storage is not available, so the choice holds for this page only.
    }
  };
  const chosen = read();
  if (chosen === 'light' || chosen === 'dark') root.dataset.theme = chosen;

  const isDark = () => {
    const theme = root.dataset.theme;
    return theme === undefined ? matchMedia('(prefers-color-scheme: dark)').matches : theme === 'dark';
  };
  document.addEventListener('DOMContentLoaded', () => {
    const button = document.getElementById('theme');
    if (button === null) return;
    const name = () => {
      button.textContent = isDark() ? 'Light theme' : 'Dark theme';
    };
    button.hidden = false;
    name();
    matchMedia('(prefers-color-scheme: dark)').addEventListener('change', name);
    button.addEventListener('click', () => {
      root.dataset.theme = isDark() ? 'light' : 'dark';
      keep(root.dataset.theme);
      name();
    });
  });
})();
