// Adds copy buttons. Without this script, text is copied by hand.
(() => {
  const said = document.getElementById('said');

  function say(text) {
    if (said !== null) said.textContent = text;
  }

  async function copy(place) {
    try {
      await navigator.clipboard.writeText(place.textContent.trim());
      return true;
    } catch {
      // The clipboard is missing or not allowed, so select the text for copying by hand.
      getSelection()?.selectAllChildren(place);
      return false;
    }
  }

  for (const button of document.querySelectorAll('button[data-copy]')) {
    const name = button.textContent;
    button.hidden = false;
    button.addEventListener('click', async () => {
      const isDone = await copy(document.getElementById(button.dataset.copy));
      button.textContent = isDone ? 'Copied' : 'Selected';
      say(isDone ? 'Copied.' : 'Selected. Copy it with your keyboard.');
    });
    button.addEventListener('blur', () => {
      button.textContent = name;
    });
  }
})();
