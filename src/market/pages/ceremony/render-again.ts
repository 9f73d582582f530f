import { html } from 'ghtml';
import type { Ceremony, Fault } from './ceremony.ts';
import type { OpenStanding } from './find-standing.ts';
import { codeCountOf, renderConfirm } from './render-confirm.ts';
import { renderFaults, renderTime } from './render-parts.ts';

export interface AgainPage {
  token: string;
  standing: OpenStanding;
  faults?: readonly Fault[];
  handle?: string | null;
}

/** After a reload, in a second tab, or when what was typed back was wrong: never a second showing. */
export function renderAgain(ceremony: Ceremony, { token, standing, faults = [], handle = null }: AgainPage): string {
  const { cookie, of, shownAt, expiresAt } = standing;
  const form = { token, cookie, codeCount: codeCountOf(of), faults, isShown: false, handle };
  return html`!${renderFaults(faults)}
<h1>Shown already</h1>
<p class="summary">${ceremony.words.secrets} were shown at !${renderTime(shownAt)} and cannot be shown again.</p>
<p>If you have saved them, type them back before !${renderTime(expiresAt)}. If not, cancel and begin again: nothing is in force yet, and nothing is lost.</p>
!${renderConfirm(ceremony, form)}`;
}
