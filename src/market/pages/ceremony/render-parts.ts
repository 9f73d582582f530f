import { html } from 'ghtml';
import { STAGE_MINUTES } from '../../../contract/vocabulary.ts';
import { isoTime } from '../../../platform/clock.ts';
import type { Ceremony, Fault } from './ceremony.ts';
import type { OverStanding } from './find-standing.ts';

/** The time of day in UTC; the tooltip has the whole time. */
export function renderTime(at: Date): string {
  const iso = isoTime(at);
  return html`<time datetime="${iso}" title="${iso}">${iso.slice(11, 16)} UTC</time>`;
}

/** What is wrong, first on the page and first in focus; each line leads to its field. */
export function renderFaults(faults: readonly Fault[]): string {
  if (faults.length === 0) return '';
  const lines = faults.map(({ field, message }) =>
    field === null ? html`<li>${message}</li>` : html`<li><a href="#${field}">${message}</a></li>`,
  );
  return html`<div class="notice danger" role="alert" tabindex="-1" autofocus id="faults">
<h2>Nothing was done</h2>
<ul>!${lines}</ul>
</div>`;
}

export interface Notice {
  tone: 'good' | 'warn' | 'danger';
  title: string;
  text: string;
}

export function renderNotice(notice: Notice | null): string {
  if (notice === null) return '';
  return html`<div class="notice ${notice.tone}" role="status">
<h2>${notice.title}</h2>
<p>${notice.text}</p>
</div>`;
}

/** What has become of a stage that this browser began. */
export function noticeOfOver({ is }: OverStanding, { words }: Ceremony): Notice {
  const { secrets, unchanged, doneElsewhere } = words;
  const worthless = `${secrets} that were shown are worth nothing: delete them.`;
  switch (is) {
    case 'confirmed':
      return { tone: 'good', title: 'Confirmed already', text: `${doneElsewhere} Nothing is left to do here.` };
    case 'canceled':
      return { tone: 'warn', title: 'Canceled', text: `${unchanged} ${worthless} You can begin again below.` };
    case 'expired':
      return {
        tone: 'warn',
        title: 'Out of time',
        text: `What you began was not confirmed within ${STAGE_MINUTES} minutes. ${unchanged} ${worthless} You can begin again below.`,
      };
    case 'superseded':
      return {
        tone: 'warn',
        title: 'Overtaken',
        text: `Key or codes of this store were replaced elsewhere meanwhile. ${worthless} If that was not you, recover the store with a code.`,
      };
  }
}

/** Hidden fields of every form of a ceremony. */
export function renderHidden(fields: Readonly<Record<string, string>>): string {
  return Object.entries(fields)
    .map(([name, value]) => html`<input type="hidden" name="${name}" value="${value}">`)
    .join('');
}
