import { html } from 'ghtml';
import type { Ceremony, Shown } from './ceremony.ts';
import { renderConfirm } from './render-confirm.ts';
import { renderTime } from './render-parts.ts';
import type { StageCookie } from './stage-cookie.ts';

export interface ShownPage {
  token: string;
  cookie: StageCookie;
  shown: Shown;
  baseUrl: string;
}

/** The only page on which key and codes ever stand. */
export function renderShown(ceremony: Ceremony, { token, cookie, shown, baseUrl }: ShownPage): string {
  const codes = shown.recovery_codes ?? [];
  const what =
    codes.length > 0
      ? 'Key and codes are shown once. Nobody can show them again.'
      : 'Your key is shown once. Nobody can show it again.';
  const form = { token, cookie, codeCount: codes.length, faults: [], isShown: true, handle: null };
  return html`<h1>Save this now</h1>
<p class="summary">${what}</p>
<section class="shown" data-secret>
<h2 id="key-name">New merchant key of ${shown.handle}</h2>
<code class="key" id="key">${shown.merchant_key}</code>
<div class="row"><button type="button" data-copy="key" hidden aria-describedby="key-name">Copy the key</button></div>
</section>
!${codes.length === 0 ? '' : renderCodes(codes)}
<p data-secret><a class="button" download="openaisle-${shown.handle}.txt" href="${fileOf(ceremony, shown, baseUrl)}">Download as a text file</a></p>
<p id="said" class="state" role="status"></p>
<h2>Type it back</h2>
<p>Before !${renderTime(new Date(shown.expires_at))}, from where you saved it. Until then nothing is in force.</p>
!${renderConfirm(ceremony, form)}`;
}

function renderCodes(codes: readonly string[]): string {
  const line = (code: string, index: number): string => html`<li><code id="code-${index + 1}">${code}</code></li>`;
  return html`<section class="shown" data-secret>
<h2 id="codes-name">Eight recovery codes</h2>
<ol class="codes" id="codes" aria-labelledby="codes-name">!${codes.map(line)}</ol>
<div class="row"><button type="button" data-copy="codes" hidden aria-describedby="codes-name">Copy the codes</button></div>
</section>`;
}

/** In the page itself, so that it can be kept without a script and without being asked for again. */
function fileOf({ path }: Ceremony, shown: Shown, baseUrl: string): string {
  const codes = shown.recovery_codes ?? [];
  const lines = [
    `Openaisle, ${baseUrl}`,
    `Handle: ${shown.handle}`,
    '',
    'Merchant key (goes into Authorization of this host and nowhere else):',
    shown.merchant_key,
    ...(codes.length > 0
      ? [
          '',
          `Recovery codes (one of them, at ${baseUrl}/recovery, replaces key and codes):`,
          ...codes.map((code, index) => `${index + 1}. ${code}`),
        ]
      : []),
    '',
    `In force only once it is confirmed at ${baseUrl}${path}, before ${shown.expires_at}.`,
    '',
  ];
  return `data:text/plain;charset=utf-8,${encodeURIComponent(lines.join('\n'))}`;
}
