import type { MarketWords } from '../contract/foreign-words.ts';
import type { OwnWords } from '../contract/own-words.ts';

/** `refused`: certainly not done. `wrong_use`: nothing was sent that could change anything. `unknown`: perhaps done, or money moved. */
export type AgentTrouble = 'refused' | 'wrong_use' | 'unknown';

export interface AgentErrorParts {
  reason: string;
  /** One sentence for a person. Must contain no secret. */
  title: OwnWords;
  nextStep?: OwnWords | undefined;
  market?: MarketWords | undefined;
  /** Set if money has moved or may move. */
  doNotPayAgain?: true;
  /** The file concerned, if the title doesn't name it. Untrusted, because the name may contain a seller's text. */
  file?: string | undefined;
}

/** A failed operation. Must contain no secret, not even in a `cause`, because it is printed and shown to language models. */
export class AgentError extends Error {
  override readonly name: string = 'AgentError';
  readonly trouble: AgentTrouble;
  readonly parts: AgentErrorParts;

  constructor(trouble: AgentTrouble, parts: AgentErrorParts) {
    super(parts.title);
    this.trouble = trouble;
    this.parts = parts;
  }
}

/** The policy, the spend book, the caller's limit or the person forbids this payment. Nothing was signed for it. */
export class PolicyRefused extends AgentError {
  override readonly name = 'PolicyRefused';

  constructor(reason: string, title: OwnWords, nextStep: OwnWords) {
    super('refused', { reason, title, nextStep });
  }
}

export function refusedFile(title: OwnWords, nextStep?: OwnWords, reason = 'file_refused'): AgentError {
  return new AgentError('wrong_use', { reason, title, nextStep });
}
