import { timingSafeEqual } from 'node:crypto';
import { html } from 'ghtml';
import { sha256 } from '../../../platform/canonical-json.ts';
import type { Market } from '../../context.ts';
import type { PendingChangeSession } from '../../identity/pending-changes/pending-changes.ts';
import type { IdentityChange } from '../../identity/pending-changes/store.ts';
import { hashesOfCode } from '../../identity/secrets.ts';
import type { Fault, Form } from './key-page.ts';

export interface TextField {
  name: string;
  label: string;
  hint: string;
  faults: readonly Fault[];
  value?: string;
  type?: 'text' | 'password';
  autocomplete?: string;
  /** Whether to style the value as machine text, such as a key or a code. */
  isMachine?: boolean;
  /** Whether the script clears the field when the user leaves the page. */
  isSecret?: boolean;
  /** Element id of the shown secret, if it is on this page; the script compares the input with it. */
  shownAs?: string;
  anyCase?: boolean;
}

/** Renders label, hint, fault and input, linked for screen readers. */
export function renderTextField(field: TextField): string {
  const { name, label, hint, type = 'text', isMachine = false, shownAs } = field;
  const fault = faultOf(name, field.faults);
  const described = [`${name}-hint`, ...(fault === null ? [] : [`${name}-fault`])].join(' ');
  const classes = isMachine ? 'machine' : 'short';
  const compare =
    shownAs === undefined
      ? ''
      : html` data-shown="${shownAs}" data-name="${label.toLowerCase()}"!${field.anyCase ? ' data-any-case' : ''}`;
  return html`<div class="field">
<label for="${name}">${label}</label>
<span class="hint" id="${name}-hint">${hint}</span>
!${renderFault(name, fault)}
<input type="${type}" id="${name}" name="${name}" class="${classes}" value="${field.value ?? ''}" autocomplete="${field.autocomplete ?? 'off'}" autocapitalize="none" autocorrect="off" spellcheck="false" required aria-describedby="${described}"!${fault === null ? '' : ' aria-invalid="true"'}!${compare}!${field.isSecret ? ' data-typed-secret' : ''}>
!${shownAs === undefined ? '' : html`<span class="state" id="${name}-state"></span>`}
</div>`;
}

export interface Choices {
  name: string;
  legend: string;
  faults: readonly Fault[];
  chosen: string | undefined;
  options: readonly { value: string; name: string; hint: string }[];
}

/** Gives the first option the field's name as id, so that a link from the fault summary reaches it. */
export function renderChoices({ name, legend, faults, chosen, options }: Choices): string {
  const fault = faultOf(name, faults);
  const described = fault === null ? '' : html` aria-describedby="${name}-fault"`;
  return html`<fieldset class="field"!${described}>
<legend>${legend}</legend>
!${renderFault(name, fault)}
!${options.map(
    (
      option,
      index,
    ) => html`<label class="choice"><input type="radio" id="${index === 0 ? name : `${name}-${index}`}" name="${name}" value="${option.value}" required!${chosen === option.value ? ' checked' : ''}><span><strong>${option.name}</strong> <span class="hint">${option.hint}</span></span></label>
`,
  )}</fieldset>`;
}

export interface Checkbox {
  name: string;
  label: string;
  faults: readonly Fault[];
  isTicked: boolean;
}

export function renderCheckbox({ name, label, faults, isTicked }: Checkbox): string {
  const fault = faultOf(name, faults);
  const described = fault === null ? '' : html` aria-describedby="${name}-fault" aria-invalid="true"`;
  return html`<div class="field">
!${renderFault(name, fault)}
<label class="choice"><input type="checkbox" id="${name}" name="${name}" value="yes" required!${isTicked ? ' checked' : ''}!${described}><span>${label}</span></label>
</div>`;
}

function faultOf(name: string, faults: readonly Fault[]): string | null {
  return faults.find(({ field }) => field === name)?.message ?? null;
}

function renderFault(name: string, message: string | null): string {
  return message === null ? '' : html`<span class="fault" id="${name}-fault">${message}</span>`;
}

const CODE_FIELDS = ['code_first', 'code_second'] as const;
/** Fields into which the user types shown secrets. */
export const SECRET_CONFIRMATION_FIELDS: readonly string[] = ['merchant_key', ...CODE_FIELDS];

interface RequestedCode {
  field: (typeof CODE_FIELDS)[number];
  /** Number of the code on the page, from 1. */
  number: number;
}

/** Picks two codes to type back. They derive from the session, so a pending change always asks for the same two. */
export function requestedCodes({ session }: PendingChangeSession, count: number): RequestedCode[] {
  const digest = sha256('codes ', session);
  const first = digest.readUInt32BE(0) % count;
  const second = (first + 1 + (digest.readUInt32BE(4) % (count - 1))) % count;
  const numbers = [first, second].sort((a, b) => a - b).map((index) => index + 1);
  return CODE_FIELDS.map((field, index) => ({ field, number: numbers[index] ?? 1 }));
}

/** Lists the typed-back secrets that differ from the shown ones. The browser's script checks first; this check decides. */
export function faultsOfSecretConfirmation(
  { pepper, config }: Pick<Market, 'pepper' | 'config'>,
  { form, change, identity }: { form: Form; change: IdentityChange; identity: PendingChangeSession },
): Fault[] {
  const isOneOf = (hashes: readonly Buffer[], kept: Buffer | undefined): boolean =>
    kept !== undefined && hashes.some((hash) => timingSafeEqual(hash, kept));
  const faults: Fault[] = [];
  const typedKeyHashes = pepper.hashes((form['merchant_key'] ?? '').trim()).map(({ hash }) => hash);
  if (!isOneOf(typedKeyHashes, change.keyHash))
    faults.push({ field: 'merchant_key', message: 'This is not the key that was shown.' });
  if (change.kind === 'rotate') return faults;
  for (const { field, number } of requestedCodes(identity, change.codeHashes.length)) {
    const typed = hashesOfCode(pepper, config.keyPrefix, form[field] ?? '');
    if (!isOneOf(typed, change.codeHashes[number - 1])) faults.push({ field, message: `This is not code ${number}.` });
  }
  return faults;
}
