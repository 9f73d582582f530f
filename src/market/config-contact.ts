import { z } from 'zod';
import { optional, type Variable } from '../platform/config.ts';

/** One address, without headers. */
const MAILTO = /^mailto:[a-z0-9.!#$%&*+=?^_{|}~-]{1,64}@(?:[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?\.)+[a-z]{2,63}$/i;
/** Nothing that would end a link where it is written in Markdown or HTML. */
const HTTPS = /^https:\/\/[a-z0-9._~:/?=&%+,;@!*$-]{1,500}$/i;

/** Where people reach the operator of this market in private. */
export function contactVariable(): Variable<string | null> {
  const schema = z.string().transform((text, context) => {
    if (isContact(text)) return text;
    context.addIssue({ code: 'invalid_format', format: 'url' });
    return z.NEVER;
  });
  const must = 'mailto: with one address, or an https URL without user, password, fragment and brackets';
  return optional<string | null>(schema, must, null);
}

function isContact(text: string): boolean {
  if (MAILTO.test(text)) return true;
  const url = HTTPS.test(text) ? URL.parse(text) : null;
  return url !== null && url.username === '' && url.password === '';
}
