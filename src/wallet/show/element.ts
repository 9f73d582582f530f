import { nameInvisibleCharacters } from '../wording.ts';

export type Child = Node | string | null;

type Attributes = Readonly<Record<string, string | number | boolean | null>>;

/** Creates an element. Strings become text, never markup. */
export function element<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== null && value !== false) made.setAttribute(name, value === true ? '' : String(value));
  }
  made.append(...children.filter((child) => child !== null));
  return made;
}

export function paragraph(...children: readonly Child[]): HTMLParagraphElement {
  return element('p', {}, ...children);
}

export function button(words: string, act: () => void, attributes: Attributes = {}): HTMLButtonElement {
  const made = element('button', { type: 'button', ...attributes }, words);
  made.addEventListener('click', act);
  return made;
}

/** Renders a user's text, with each invisible character replaced by its name. */
export function renderVisibleText(text: string): Node[] {
  return nameInvisibleCharacters(text).map((run) =>
    'text' in run
      ? document.createTextNode(run.text)
      : element('span', { class: 'unseen', title: 'A character that cannot be seen' }, run.unseen),
  );
}

/** Renders a user's text on one line, isolated from the text direction around it. */
export function renderVisibleLine(text: string): HTMLElement {
  return element('bdi', {}, ...renderVisibleText(text.replaceAll(/\s+/g, ' ').trim()));
}
