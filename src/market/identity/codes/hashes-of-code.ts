import { canonicalCode, isRecoveryCode } from '../../../platform/secrets.ts';
import type { Pepper } from '../../context.ts';

/** What a presented code is looked up by. A text that is no code is hashed and looked up like one, so that it takes as long to refuse. */
export function hashesOfCode(pepper: Pepper, prefix: string, code: string): Buffer[] {
  const text = code.trim();
  const spelled = canonicalCode(text, prefix);
  // What stands before the code is part of it: the canonical spelling alone would overlook a wrong one.
  return pepper.hashes(isRecoveryCode(text, prefix) ? spelled : `not a code: ${spelled}`).map(({ hash }) => hash);
}
