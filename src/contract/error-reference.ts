import { ERRORS, errorClass, REASONS } from './errors.ts';

const SAFE = new Map<boolean | undefined, string>([
  [true, 'do not'],
  [false, 'safe'],
  [undefined, ''],
]);

/** The table of errors as a page in Markdown. */
export function errorReference(): string {
  const rows = REASONS.map((reason) => {
    const row = ERRORS[reason];
    const cells = [
      `\`${reason}\``,
      row.status,
      errorClass(row.status),
      row.title,
      row.retry,
      SAFE.get(row.do_not_pay_again),
      row.next_step,
    ];
    return `| ${cells.join(' | ')} |`;
  });
  return [
    '# Errors',
    '',
    'Generated from `src/contract/errors.ts`. Do not edit.',
    '',
    'Every error is `application/problem+json` (RFC 9457). `reason` is stable; `retry` says what may be sent again: the same request,',
    'the same payment proof, only a mended request, or nothing. On payment answers `do_not_pay_again` says whether another payment is',
    'safe; a single answer may say so more exactly than this table.',
    '',
    '| Reason | Status | Class | Title | Retry | Pay again | Next step |',
    '| --- | --- | --- | --- | --- | --- | --- |',
    ...rows,
    '',
  ].join('\n');
}
