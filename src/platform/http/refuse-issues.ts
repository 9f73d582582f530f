import type { z } from 'zod';
import { MOST_ERRORS } from '../../contract/vocabulary.ts';
import { Refusal } from '../refusal.ts';

type Issue = z.core.$ZodIssue;

/** What a schema found wrong, as a refusal that names places and never values. */
export function refuseIssues(issues: readonly Issue[], otherwise: 'invalid_fields' | 'invalid_query'): Refusal {
  const unknown = issues.flatMap((issue) =>
    issue.code === 'unrecognized_keys'
      ? issue.keys.map((key) => ({ path: pathOf([...issue.path, key]), message: 'is not known here' }))
      : [],
  );
  if (unknown.length > 0) {
    const names = unknown.map(({ path }) => path || 'a field without a name');
    return new Refusal('unexpected_fields', {
      detail: `Not known here: ${list(names)}.${total(unknown)}`,
      errors: unknown.slice(0, MOST_ERRORS),
    });
  }
  const errors = issues.map((issue) => ({ path: pathOf(issue.path), message: issue.message }));
  const said = errors.map(({ path, message }) => (path === '' ? message : `${path}: ${message}`));
  return new Refusal(otherwise, {
    detail: `Not acceptable: ${list(said)}.${total(errors)}`,
    errors: errors.slice(0, MOST_ERRORS),
  });
}

function total(errors: readonly unknown[]): string {
  return errors.length > MOST_ERRORS
    ? ` There are ${errors.length} in all; the first ${MOST_ERRORS} are in errors.`
    : '';
}

const MOST_NAMED = 10;
const LONGEST_NAME = 100;

function list(given: readonly string[]): string {
  const different = [...new Set(given)];
  const rest = different.length - MOST_NAMED;
  return different.slice(0, MOST_NAMED).join('; ') + (rest > 0 ? `; and ${rest} more` : '');
}

function pathOf(path: readonly PropertyKey[]): string {
  return path.map((step) => String(step).slice(0, LONGEST_NAME)).join('.');
}
