import type { TextFlag } from '../../contract/text-flags.ts';

/** Which of these public texts looks as if it was meant to steer the model that reads it. In the order of TEXT_FLAGS, each once. */
export function flagText(_texts: readonly string[]): TextFlag[] {
  return [];
}
