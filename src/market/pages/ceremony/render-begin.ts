import { html } from 'ghtml';
import type { Ceremony, Fault, Form } from './ceremony.ts';
import { type Notice, renderFaults, renderHidden, renderNotice } from './render-parts.ts';

export interface BeginPage {
  token: string;
  typed?: Form;
  faults?: readonly Fault[];
  notice?: Notice | null;
}

/** The first step: what it is for, what to have ready, and the form. */
export function renderBegin(ceremony: Ceremony, { token, typed = {}, faults = [], notice = null }: BeginPage): string {
  const { path, words } = ceremony;
  return html`!${renderFaults(faults)}
!${renderNotice(notice)}
<h1>${words.title}</h1>
<p class="summary">${words.lead}</p>
<ul>!${words.before.map((line) => html`<li>${line}</li>`)}</ul>
<form method="post" action="${path}" novalidate autocomplete="off" data-begin>
!${renderHidden({ action: 'begin', token })}
!${ceremony.renderFields(typed, faults)}
<div class="row"><button class="main" type="submit">${words.beginButton}</button></div>
</form>`;
}
