import { html } from 'ghtml';

export interface SecretField {
  id: string;
  label: string;
  hint: string;
  type: 'password' | 'text';
}

/** Without a name: whatever a browser does with the form, what is typed here goes into no body and no address. */
export function renderSecretField({ id, label, hint, type }: SecretField): string {
  return html`<div class="field">
<label for="${id}">${label}</label>
<span class="hint" id="${id}-hint">${hint}</span>
<span class="fault" id="${id}-fault" role="alert"></span>
<input type="${type}" id="${id}" class="machine" value="" autocomplete="off" autocapitalize="none" autocorrect="off" spellcheck="false" aria-describedby="${id}-hint ${id}-fault">
</div>`;
}
