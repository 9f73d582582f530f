import type { MarketWords } from '../contract/foreign-words.ts';
import type { OwnWords } from '../contract/own-words.ts';

/** `refused`: nothing was signed, or what the policy says ends this. `wrong_use`: nothing of weight was done. `unknown`: it may have happened, or money has moved. */
export type AgentTrouble = 'refused' | 'wrong_use' | 'unknown';

export interface AgentErrorParts {
  /** Stable code, in snake case. */
  reason: string;
  /** One sentence for a person; never a secret. */
  title: OwnWords;
  nextStep?: OwnWords | undefined;
  market?: MarketWords | undefined;
  /** Money has moved or may move. */
  doNotPayAgain?: true;
  /** The file that it is about, where that is not in the title; a seller's text may be in its name. */
  file?: string | undefined;
}

/** How something ends here that is not done. Holds no secret, and no cause that could: it is printed and handed to language models. */
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

/** The policy, the book or the person does not allow this payment. Nothing was signed. */
export class PolicyRefused extends AgentError {
  override readonly name = 'PolicyRefused';

  constructor(reason: string, title: OwnWords, nextStep: OwnWords) {
    super('refused', { reason, title, nextStep });
  }
}

export function refusedFile(title: OwnWords, nextStep?: OwnWords, reason = 'file_refused'): AgentError {
  return new AgentError('wrong_use', { reason, title, nextStep });
}
