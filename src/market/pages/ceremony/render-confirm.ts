import { html } from 'ghtml';
import type { StageOf } from '../../identity/stages/store.ts';
import type { Ceremony, Fault } from './ceremony.ts';
import { renderTextField } from './fields.ts';
import { HANDLE_HINT } from './join.ts';
import { renderHidden } from './render-parts.ts';
import { markOf, type StageCookie } from './stage-cookie.ts';
import { askedCodes } from './typed-back.ts';

export interface ConfirmForm {
  token: string;
  cookie: StageCookie;
  codeCount: number;
  faults: readonly Fault[];
  /** Whether what was shown stands on the same page, for the script to hold against. */
  isShown: boolean;
  /** Asked for where the staged handle is not to be had; what was typed for it. */
  handle: string | null;
}

export function codeCountOf(of: StageOf): number {
  return of.kind === 'rotate' ? 0 : of.codeHashes.length;
}

/** Typing back shows that both were saved. Below it, the way out. */
export function renderConfirm({ path, words }: Ceremony, form: ConfirmForm): string {
  const { token, cookie, codeCount, faults, isShown, handle } = form;
  const mark = markOf(cookie);
  const codes = codeCount === 0 ? [] : askedCodes(cookie, codeCount);
  const common = { faults, isMachine: true, isSecret: true };
  return html`<form method="post" action="${path}" novalidate autocomplete="off" data-typed-back>
!${renderHidden({ action: 'confirm', token, mark })}
!${handle === null ? '' : renderTextField({ name: 'handle', label: 'Another handle', hint: HANDLE_HINT, faults, value: handle })}
!${renderTextField({
    ...common,
    name: 'merchant_key',
    label: 'The new key',
    hint: 'From where you saved it.',
    ...(isShown ? { shownAs: 'key' } : {}),
  })}
!${codes.map(({ field, number }) =>
    renderTextField({
      ...common,
      name: field,
      label: `Code ${number}`,
      hint: 'From where you saved it, in any case.',
      ...(isShown ? { shownAs: `code-${number}` } : {}),
      anyCase: true,
    }),
  )}
<p class="state" id="left" role="status"></p>
<div class="row"><button class="main" type="submit" aria-describedby="left">${words.confirmButton}</button></div>
</form>
<form method="post" action="${path}">
!${renderHidden({ action: 'cancel', token, mark })}
<button type="submit">Cancel</button>
<span class="hint">Nothing is in force yet. You can begin again afterwards.</span>
</form>`;
}
