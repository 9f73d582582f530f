import { html } from 'ghtml';
import type { TokenScope } from '../../../contract/connections.ts';
import { hasForeignLetters } from '../../../contract/look-alikes.ts';
import { INVISIBLE } from '../../../contract/seen-text.ts';
import { limitCombiningMarks } from '../../../contract/text.ts';
import type { Interaction } from '../../connect/interaction.ts';

const LOOK_ALIKE_WARNING = '. Some of its letters are not Latin ones: they may look like those of another name.';
const LOCAL_REDIRECT_WARNING = ' It goes back to a program on this device, and any program here could take its place.';
/** Matches redirect targets on this device: a local host, or a scheme that a program has registered. */
const LOCAL_REDIRECT = /^(?:localhost|127\.0\.0\.1|\[::1\]|[a-z][a-z0-9+.-]*:(?:\/\/.*)?)$/i;

/** Renders the request for access, the proof of ownership and both buttons. The script shows the hidden parts as needed. */
export function renderInteraction({ client, scopes }: Interaction, provenAs: string | null): string {
  const name = showName(client.name);
  const who = name === null ? 'A program without a name' : html`<bdi>${name}</bdi>`;
  const isProven = provenAs !== null;
  return html`<h1>Let a program act for your store</h1>
<p class="summary">!${who} asks to act for a store of this market.</p>
<dl class="facts">
<dt>Program</dt><dd>!${renderName(name)}</dd>
<dt>Known by</dt><dd>!${renderHost(client.host)}</dd>
<dt>Goes back to</dt><dd>!${renderRedirect(client)}</dd>
</dl>
<h2>What it may do then</h2>
<ul>!${scopes.map((scope) => html`<li>${SCOPE_WORDS[scope]}</li>`)}</ul>
<p>It never sees your key, and cannot replace or recover it. You can end it at any time at <a href="/mcp/connect/grants" target="_blank" rel="noopener">what acts for you</a>; a new key ends it too.</p>
<div class="notice warn">
<h2>Allow only what you have begun yourself</h2>
<p>If another person sent you here, or you did not just begin this in that program, cancel.!${isLocalRedirect(client) ? LOCAL_REDIRECT_WARNING : ''}</p>
</div>
<noscript><div class="notice danger">
<h2>This page needs its script</h2>
<p>It sends the key in a header of its own, so that it stands in no form and no address. Let it run, or close this page: nothing has been allowed.</p>
</div></noscript>
!${renderProof(isProven)}
<section id="proven" tabindex="-1" aria-labelledby="proven-title"!${isProven ? '' : ' hidden'}>
<h2 id="proven-title">This is about the store of <strong id="handle">${provenAs ?? ''}</strong></h2>
<p>With “Allow”, the program above may act for it as described.</p>
</section>
<section id="over" tabindex="-1" aria-labelledby="over-title" hidden>
<h2 id="over-title">This attempt to connect is over</h2>
<p>It was decided, took too long, or had too many wrong tries. Begin again in the program that you want to connect. What may act for you by now is at <a href="/mcp/connect/grants" target="_blank" rel="noopener">what acts for you</a>.</p>
</section>
<p id="said" class="state" role="status"></p>
<div class="row" id="decide" hidden>
<button class="main" type="button" id="allow"!${isProven ? '' : ' hidden'}>Allow</button>
<button type="button" id="cancel">Cancel</button>
</div>`;
}

function renderName(name: string | null): string {
  if (name === null) return 'It gives no name.';
  return html`<bdi>${name}</bdi>, as it calls itself${hasForeignLetters(name) ? LOOK_ALIKE_WARNING : ''}`;
}

function renderHost(host: string | null): string {
  if (host === null) return 'Nothing: it registered itself here, so its name proves nothing.';
  return html`<code>${host}</code>, which publishes what it is`;
}

function renderRedirect(client: Interaction['client']): string {
  const where = html`<code>${client.redirectHost}</code>`;
  return isLocalRedirect(client) ? html`A program on this device (!${where})` : where;
}

/** Whether this attempt redirects to a program on this device. */
function isLocalRedirect({ redirectHost, loopbackOnly }: Interaction['client']): boolean {
  return loopbackOnly || LOCAL_REDIRECT.test(redirectHost);
}

function renderProof(isProven: boolean): string {
  const key = renderSecretField({
    id: 'merchant-key',
    label: 'Merchant key',
    hint: 'Checked once it is whole, in a header of its own. It is not kept, and the program does not get it.',
    type: 'password',
  });
  const code = renderSecretField({
    id: 'pairing-code',
    label: 'Pairing code',
    hint: 'In its place, if the key is elsewhere: “openaisle pair”, or POST /api/pair, makes one for ten minutes and one use.',
    type: 'text',
  });
  return html`<section id="proof" hidden data-proven="${String(isProven)}">
<h2>Show that the store is yours</h2>
<p>One of the two is enough.</p>
<form id="by-key" autocomplete="off" novalidate>
!${key}
<div class="row"><button type="submit">Check the key</button></div>
</form>
<form id="by-code" autocomplete="off" novalidate>
!${code}
<div class="row"><button type="submit">Check the code</button></div>
</form>
<p>No store yet? <a href="/join" target="_blank" rel="noopener">Open one in a new tab</a>, and come back here with the key. This page waits fifteen minutes in all.</p>
</section>`;
}

const LONGEST_NAME = 60;
/** Matches a letter with more combining marks than any alphabet uses; they would overlap the surrounding text. */
const EXCESS_MARKS = /(\p{M}{2})\p{M}+/gu;
/** Cleans a client's self-chosen name for display. Null if nothing visible is left. */
export function showName(name: string | null): string | null {
  const cleaned = limitCombiningMarks(name ?? '')
    .normalize('NFKC')
    .replaceAll(INVISIBLE, ' ')
    .replaceAll(EXCESS_MARKS, '$1')
    .replaceAll(/\s+/g, ' ')
    .trim();
  if (cleaned === '') return null;
  const letters = [...cleaned];
  return letters.length <= LONGEST_NAME ? cleaned : `${letters.slice(0, LONGEST_NAME).join('')}…`;
}

interface SecretField {
  id: string;
  label: string;
  hint: string;
  type: 'password' | 'text';
}

/** Renders an input without a `name`, so browsers never put the secret into a body or a URL. */
export function renderSecretField({ id, label, hint, type }: SecretField): string {
  return html`<div class="field">
<label for="${id}">${label}</label>
<span class="hint" id="${id}-hint">${hint}</span>
<span class="fault" id="${id}-fault" role="alert"></span>
<input type="${type}" id="${id}" class="machine" value="" autocomplete="off" autocapitalize="none" autocorrect="off" spellcheck="false" aria-describedby="${id}-hint ${id}-fault">
</div>`;
}

/** Descriptions of the scopes for the person who is asked to allow them. */
export const SCOPE_WORDS: Readonly<Record<TokenScope, string>> = {
  'market:read': 'Read what everybody may read: shelves, stores, events.',
  'market:me': 'Read what is yours: your record, and your purchases with the goods in them.',
  'market:write':
    'Act for you in all that the key can do, but make or replace keys: list, change and withdraw goods, set up the store, buy and claim, review payments, comment, vote, flag and appeal.',
};
