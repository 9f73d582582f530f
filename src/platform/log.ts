/** Structured log lines: one JSON object a line. Only fields of the allow-list are printed; see create-log.ts. */
export interface Log {
  info(event: string, fields?: Readonly<Record<string, unknown>>): void;
  warn(event: string, fields?: Readonly<Record<string, unknown>>): void;
  /** `error` under `fields.error` is printed as name, message and stack, after redaction. */
  error(event: string, fields?: Readonly<Record<string, unknown>>): void;
  with(fields: Readonly<Record<string, unknown>>): Log;
}
