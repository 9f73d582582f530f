import { html } from 'ghtml';
import type { Ceremony, Confirmed } from './ceremony.ts';
import type { OpenStanding } from './find-standing.ts';
import { renderHidden, renderTime } from './render-parts.ts';

/** What is true now, and the one thing to do next. */
export function renderDone({ words }: Ceremony, confirmed: Confirmed): string {
  const { before, address, name, after } = words.next;
  return html`<div class="notice good" role="status" tabindex="-1" autofocus>
<h1>${words.doneTitle}</h1>
</div>
<ul>!${words.done(confirmed).map((line) => html`<li>${line}</li>`)}</ul>
<h2>Next</h2>
<p>${before}<a href="${address}">${name}</a>${after}</p>`;
}

export interface Message {
  title: string;
  text: string;
  link: { before: string; address: string; name: string; after: string };
}

/** A plain no, with one way on. */
export function renderMessage({ title, text, link }: Message): string {
  return html`<h1>${title}</h1>
<p class="summary">${text}</p>
<p>${link.before}<a href="${link.address}">${link.name}</a>${link.after}</p>`;
}

/** One stage at a time in a browser: another door's is finished or canceled first. */
export function renderElsewhere(begun: Ceremony, standing: OpenStanding, token: string): string {
  return html`<h1>Something else is begun</h1>
<p class="summary">“${begun.words.title}” was begun in this browser at !${renderTime(standing.shownAt)} and is not confirmed.</p>
<p>Finish it at <a href="${begun.path}">${begun.words.title}</a>, or cancel it here. Nothing is in force yet.</p>
<form method="post" action="${begun.path}">
!${renderHidden({ action: 'cancel', token })}
<button class="main" type="submit">Cancel it</button>
</form>`;
}
