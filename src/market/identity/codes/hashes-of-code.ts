import { canonicalCode } from '../../../platform/secret-format.ts';
import type { Pepper } from '../../context.ts';

/** What a presented code is looked up by. A text that is no code is hashed and looked up like one, so that it takes as long to refuse. */
export function hashesOfCode(pepper: Pepper, prefix: string, code: string): Buffer[] {
  return pepper.hashes(canonicalCode(code.trim(), prefix)).map(({ hash }) => hash);
}
