import { html } from 'ghtml';

/** The second, for what is looked up as a record. */
export function renderMoment(iso: string): string {
  const [day = '', time = ''] = iso.split('T');
  return html`<time datetime="${iso}" title="${iso}">${day} ${time.slice(0, 'hh:mm:ss'.length)} UTC</time>`;
}
