// Adds buttons that copy text of the page; without it, text is copied by hand.
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
      // No clipboard, or not allowed: select the text, so that it can be copied by hand.
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
