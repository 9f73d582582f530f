export type Lie =
  | 'missing_cursor'
  | 'repeated_cursor'
  | 'cursor_does_not_advance'
  | 'cursor_skips_rows'
  | 'cursor_after_the_end'
  | 'wrong_returned'
  | 'wrong_page_size'
  | 'page_too_large'
  | 'empty_page'
  | 'wrong_total'
  | 'more_than_total'
  | 'fewer_than_total'
  | 'repeated_row'
  | 'out_of_order'
  | 'missing_row';

/** The pages contradict each other or themselves: what was read so far must not be taken for the whole collection. */
export class PageRefused extends Error {
  override readonly name = 'PageRefused';
  readonly lie: Lie;

  constructor(lie: Lie, detail: string) {
    super(`the walk was stopped: ${detail}`);
    this.lie = lie;
  }
}
