// Offers to copy what stands on a page to be copied; without it, it is copied by hand.
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
      // No clipboard here, or not allowed: what is selected can be copied by hand.
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
