import { FOLDED_TEXT, findReserved, type Reserved } from '../contract/handles.ts';
import { Refusal } from './refusal.ts';

export type HandleStep = 'stage' | 'confirm';

interface HandleConflicts {
  /** An existing handle that is equal or looks alike. Null: none. */
  alike: string | null;
  maintainer: string | null;
}

const NEXT_STEPS: Readonly<Record<HandleStep, string>> = {
  stage: 'Stage again with another handle.',
  confirm: 'Choose another handle and confirm again in the same session.',
};

/** Rejects a new handle that is reserved or looks like an existing one. The error names the rule. */
export function judgeHandle(handle: string, { alike, maintainer }: HandleConflicts, step: HandleStep): void {
  const nextStep = NEXT_STEPS[step];
  const reserved = alike === handle ? null : findReserved(handle, maintainer);
  if (reserved !== null) throw new Refusal('handle_reserved', { detail: detailOf(handle, reserved), nextStep });
  if (alike === null) return;
  const detail =
    alike === handle ? `${handle} is taken.` : `${handle} looks like ${alike}, which is taken: ${FOLDED_TEXT}.`;
  throw new Refusal('handle_taken', { detail, nextStep });
}

function detailOf(handle: string, { rule, word }: Reserved): string {
  switch (rule) {
    case 'word':
      return `${handle} is or looks like ${word}, which is reserved: ${FOLDED_TEXT}.`;
    case 'part':
      return `${handle} has a part that is or looks like ${word}, which is reserved between hyphens too: ${FOLDED_TEXT}.`;
    case 'made_of':
      return `${handle} is made of reserved words, ${word} among them.`;
  }
}
