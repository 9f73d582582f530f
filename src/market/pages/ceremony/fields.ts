import { html } from 'ghtml';
import type { Fault } from './ceremony.ts';

export interface TextField {
  name: string;
  label: string;
  hint: string;
  faults: readonly Fault[];
  value?: string;
  type?: 'text' | 'password';
  autocomplete?: string;
  /** Machine facts: keys and codes. */
  isMachine?: boolean;
  /** Taken off the page when it is left. */
  isSecret?: boolean;
  /** The id of what is shown, where it is: typed text is held against it. */
  shownAs?: string;
  anyCase?: boolean;
}

/** Label, hint, what is wrong, input; each names the next, so that all of it is read out together. */
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

/** The first option has the field's name as its id, so that a link from the summary leads to it. */
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

export interface Tick {
  name: string;
  label: string;
  faults: readonly Fault[];
  isTicked: boolean;
}

export function renderTick({ name, label, faults, isTicked }: Tick): string {
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
