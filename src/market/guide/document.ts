/**
 * A page's content, written once and rendered as markdown for programs and as HTML for people. Text may hold `code` in backticks and
 * [words](address); everything else in it is plain and is escaped in HTML.
 */
export interface Document {
  title: string;
  summary: string;
  blocks: readonly Block[];
}

export type Block =
  | { kind: 'heading'; text: string }
  | { kind: 'text'; text: string }
  | { kind: 'list'; items: readonly string[] }
  | { kind: 'steps'; items: readonly string[] };

export const heading = (text: string): Block => ({ kind: 'heading', text });
export const text = (words: string): Block => ({ kind: 'text', text: words });
export const list = (items: readonly string[]): Block => ({ kind: 'list', items });
export const steps = (items: readonly string[]): Block => ({ kind: 'steps', items });
