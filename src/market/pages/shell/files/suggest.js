// Suggests titles while the user types. Without this script, or if it fails, the form still searches.
(() => {
  const LEAST_LETTERS = 2;
  const MOST = 8;
  const PAUSE_MS = 150;
  // Matches invisible characters, which the server replaces on its pages as well.
  const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Noncharacter_Code_Point}]/gu;
  // Filters of the form, with their names in the route.
  const NARROWING = [
    ['aisle', 'aisle'],
    ['free', 'free'],
    ['price', 'max_price_usdc'],
    ['tag', 'tag'],
  ];

  const form = document.querySelector('form.search');
  const field = form?.querySelector('input[type="search"]');
  if (!field) return;

  const list = make('ul', { id: 'suggestions', role: 'listbox', 'aria-label': 'Listings that fit' });
  list.className = 'suggestions';
  list.hidden = true;
  const said = make('p', { role: 'status' });
  said.className = 'heard';
  field.parentElement.append(list, said);
  const closed = { role: 'combobox', 'aria-autocomplete': 'list', 'aria-expanded': 'false' };
  setAll(field, { ...closed, 'aria-controls': list.id });

  let pause = 0;
  let asking = null;
  let at = -1;

  function make(name, attributes) {
    const element = document.createElement(name);
    setAll(element, attributes);
    return element;
  }

  function setAll(element, attributes) {
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  }

  function close() {
    clearTimeout(pause);
    asking?.abort();
    asking = null;
    at = -1;
    list.hidden = true;
    list.replaceChildren();
    said.textContent = '';
    field.setAttribute('aria-expanded', 'false');
    field.removeAttribute('aria-activedescendant');
  }

  function priceOf(usdc) {
    if (usdc === 0) return 'Free';
    const amount = usdc.toLocaleString('en-US', { minimumFractionDigits: 2, maximumFractionDigits: 6 });
    return `${amount} USDC`;
  }

  function optionOf({ id, title, price_usdc: price }, place) {
    const option = make('li', { id: `suggestion-${place}`, role: 'option', 'aria-selected': 'false' });
    option.dataset.listing = String(Number(id));
    const name = document.createElement('bdi');
    name.textContent = title.replace(UNSEEN, '\u{fffd}');
    const amount = make('span', {});
    amount.className = 'price';
    amount.textContent = priceOf(price);
    option.append(name, ' ', amount);
    return option;
  }

  function show(listings) {
    if (listings.length === 0) return close();
    list.replaceChildren(...listings.map(optionOf));
    at = -1;
    field.removeAttribute('aria-activedescendant');
    list.hidden = false;
    field.setAttribute('aria-expanded', 'true');
    said.textContent = listings.length === 1 ? '1 listing fits.' : `${listings.length} listings fit.`;
  }

  function addressOf(words) {
    const query = new URLSearchParams({ q: words, fields: 'outline', limit: String(MOST) });
    const given = new FormData(form);
    for (const [own, name] of NARROWING) {
      const value = String(given.get(own) ?? '').trim();
      if (value !== '') query.set(name, value);
    }
    return `/api/shelves?${query}`;
  }

  async function ask(words) {
    asking?.abort();
    const mine = new AbortController();
    asking = mine;
    try {
      const answer = await fetch(addressOf(words), { headers: { accept: 'application/json' }, signal: mine.signal });
      if (!answer.ok) return close();
      const { listings } = await answer.json();
      if (asking === mine && document.activeElement === field) show(listings.slice(0, MOST));
    } catch {
      // Close the list if the request failed, but not if a newer request has replaced it.
      if (asking === mine) close();
    }
  }

  function move(by) {
    const options = [...list.children];
    options[at]?.setAttribute('aria-selected', 'false');
    // The extra position after the last option selects none.
    at = ((at + 1 + by + options.length + 1) % (options.length + 1)) - 1;
    const chosen = options[at];
    if (chosen === undefined) return field.removeAttribute('aria-activedescendant');
    chosen.setAttribute('aria-selected', 'true');
    chosen.scrollIntoView({ block: 'nearest' });
    field.setAttribute('aria-activedescendant', chosen.id);
  }

  function go(option) {
    location.assign(`/listing/${option.dataset.listing}`);
  }

  field.addEventListener('input', (event) => {
    clearTimeout(pause);
    const words = field.value.trim();
    if (event.isComposing || words.length < LEAST_LETTERS) return close();
    pause = setTimeout(() => void ask(words), PAUSE_MS);
  });
  field.addEventListener('keydown', (event) => {
    if (event.isComposing || list.hidden) return;
    const chosen = list.children[at];
    if (event.key === 'ArrowDown') move(1);
    else if (event.key === 'ArrowUp') move(-1);
    else if (event.key === 'Escape') close();
    else if (event.key === 'Enter' && chosen !== undefined) go(chosen);
    else return;
    event.preventDefault();
  });
  field.addEventListener('blur', close);
  form.addEventListener('submit', close);
  // Keeps the focus in the field when the user presses an option.
  list.addEventListener('pointerdown', (event) => event.preventDefault());
  list.addEventListener('click', (event) => {
    const option = event.target.closest('[data-listing]');
    if (option !== null) go(option);
  });
})();
