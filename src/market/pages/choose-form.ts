import { preferredType } from '../../platform/http/accept.ts';

const FORMS = ['text/html', 'application/json', 'text/markdown'] as const;

/** A form must be asked for by name: browsers name HTML, programs that take anything get text. */
export function chooseForm(accept: string | undefined): 'html' | 'json' | 'text' {
  const named = FORMS.filter((form) => accept?.toLowerCase().includes(form));
  const form = preferredType(accept, [...named, 'text/plain']);
  if (form === 'text/html') return 'html';
  return form === 'application/json' ? 'json' : 'text';
}
