import type { IdentityEndpoint } from '../../../contract/vocabulary.ts';
import type { Market } from '../../context.ts';
import type { StageKind } from '../../identity/stages/store.ts';

export type Form = Readonly<Record<string, string>>;

/** What is wrong with what was typed, in words for people. */
export interface Fault {
  /** The field's name, which is its id too; null when it is not about one of them. */
  field: string | null;
  message: string;
}

/** What the first step gave. Rendered once, held nowhere. */
export interface Shown {
  handle: string;
  session: string;
  csrf: string;
  merchant_key: string;
  /** A rotation leaves the codes as they are. */
  recovery_codes?: readonly string[];
  expires_at: string;
}

export interface Confirmed {
  merchant_id: number;
  handle: string;
}

export interface ConfirmStep {
  session: string;
  csrf: string;
  /** Another handle than the staged one; only where a handle is taken. */
  handle: string | undefined;
  key: string;
  clientNetwork: string;
}

/** One of the three doors as people go through it: begin, save, type back, confirm (W10). */
export interface Ceremony {
  kind: StageKind;
  door: IdentityEndpoint;
  path: '/join' | '/rotate' | '/recovery';
  words: Words;
  /** Whether its first step shows codes. */
  showsCodes: boolean;
  /** Of the first step: a secret's own place, and never filled in again. */
  secretFields: readonly string[];
  /** The inputs of the first step. */
  renderFields(typed: Form, faults: readonly Fault[]): string;
  /** What can be said about the first step without asking anybody. */
  check(form: Form): Fault[];
  begin(market: Market, form: Form, clientNetwork: string): Promise<Shown>;
  confirm(market: Market, step: ConfirmStep): Promise<Confirmed>;
}

export interface Words {
  title: string;
  lead: string;
  /** What to know before beginning. */
  before: readonly string[];
  beginButton: string;
  /** What is shown: the subject of a sentence. */
  secrets: string;
  confirmButton: string;
  /** What a cancel, or the end of the time, leaves behind. */
  unchanged: string;
  doneTitle: string;
  done(confirmed: Confirmed): readonly string[];
  /** For a stage that is confirmed already, by another person or earlier by this one. */
  doneElsewhere: string;
  next: { before: string; address: string; name: string; after: string };
}
