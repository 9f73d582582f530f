import { expect, test } from 'vitest';
import { keywordsIn } from '../contract/listing-fields.ts';
import { proposeKeywords } from './propose-keywords.ts';

const SKILL = `---
name: pdf-invoices
description: Reads invoices from scanned PDF files
  and posts them to DATEV.
license: MIT
---
# Umsatzsteuer, invoices

Use it when the accountant waits. OCR with Tesseract; Tesseract is free. Kept for 10 years, kept by date.

## Overview
## VAT numbers and c++ bindings
## Reconcile the ledger, v2, 2024

\`\`\`sh
# Reconcile nothing: a comment of code is no heading
tesseract --lang deu; tesseract; secretVariable secretVariable secretVariable
\`\`\`

Ledgers, <b title="markup">ledger</b>, [the ledger](https://example.org/hidden/hidden/hidden). Mango. Mango.
Umsatzsteuer.
`;

test('words of headings and of the description come first, then what is said often; common words and numbers never', () => {
  expect(proposeKeywords([SKILL], [])).toEqual([
    ...['invoices', 'ledger', 'umsatzsteuer'],
    ...['VAT', 'c++', 'bindings', 'reconcile'],
    ...['scanned', 'PDF', 'posts', 'DATEV'],
  ]);
});

test('words that title, description and tags say are left out, in the singular and the plural', () => {
  const proposed = proposeKeywords([SKILL], ['Invoice reader', 'For ledgers of Datev users', 'vat']);
  expect(proposed).not.toContain('invoices');
  expect(proposed).toEqual(expect.arrayContaining(['reconcile', 'PDF', 'scanned']));
  for (const word of ['ledger', 'DATEV', 'VAT']) expect(proposed).not.toContain(word);
});

test('at most twelve are proposed, and the market takes each', () => {
  const many = Array.from(
    { length: 40 },
    (_, at) => `# Tessellate${String.fromCharCode(97 + (at % 26))}${'x'.repeat(at)}`,
  );
  const proposed = proposeKeywords([many.join('\n')], []);
  expect(proposed).toHaveLength(12);
  expect(keywordsIn.parse(proposed)).toEqual(proposed);
});

test('identifiers, one-letter words and hidden characters are not proposed', () => {
  const text = `# a b ${'ab12'.repeat(8)} aisle_sk_0123456789abcdef zero\u200bwidth ${'long'.repeat(10)}`;
  expect(proposeKeywords([text], [])).toEqual(['zero', 'width']);
});

test('texts without headings or front matter propose only what they say three times', () => {
  expect(proposeKeywords(['Kubernetes once. Helm helm. Istio, istio and ISTIO.'], [])).toEqual(['istio']);
  expect(proposeKeywords([], [])).toEqual([]);
  expect(proposeKeywords(['---\nbroken: front'], [])).toEqual([]);
});
