import type { IdentityEndpoint } from '../../../contract/vocabulary.ts';
import type { Market } from '../../context.ts';
import type { ChangeKind } from '../../identity/pending-changes/store.ts';

export type Form = Readonly<Record<string, string>>;

/** A fault in the form, worded for people. */
export interface Fault {
  /** Name and element id of the field. Null if the fault is not about a single field. */
  field: string | null;
  message: string;
}

/** Result of the first step, with the secrets. It is rendered once and stored nowhere. */
export interface Shown {
  handle: string;
  session: string;
  csrf: string;
  merchant_key: string;
  /** Absent for a rotation, which keeps the codes. */
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
  /** New handle for the pending change. Only registrations may replace theirs. */
  handle: string | undefined;
  key: string;
  clientNetwork: string;
}

/** A page on which a person opens a store, rotates its key or recovers it: begin, save the secrets, type them back, confirm. */
export interface KeyPage {
  kind: ChangeKind;
  endpoint: IdentityEndpoint;
  path: '/join' | '/rotate' | '/recovery';
  words: Words;
  showsCodes: boolean;
  /** Fields of the first step that contain a secret, so they are never filled in again. */
  secretFields: readonly string[];
  renderFields(typed: Form, faults: readonly Fault[]): string;
  /** Validates the first step without reading the database. */
  check(form: Form): Fault[];
  begin(market: Market, form: Form, clientNetwork: string): Promise<Shown>;
  confirm(market: Market, step: ConfirmStep): Promise<Confirmed>;
}

export interface Words {
  title: string;
  lead: string;
  /** Preparations and effects of the change, shown before the first step. */
  before: readonly string[];
  beginButton: string;
  /** Name of the shown secrets, as the subject of a sentence. */
  secrets: string;
  confirmButton: string;
  /** Message that a canceled or expired change had no effect. */
  unchanged: string;
  doneTitle: string;
  done(confirmed: Confirmed): readonly string[];
  /** Message if the pending change was already confirmed, perhaps by another person. */
  doneElsewhere: string;
  next: { before: string; address: string; name: string; after: string };
}
