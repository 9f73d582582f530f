import { describe, expect, it } from 'vitest';
import { processorMs } from '../../../../test/support/processor-time.ts';
import { renderUserText } from './render-text.ts';

describe('an address in a text', () => {
  it.each([
    ['See https://a.example/x.', 'See <a href="https://a.example/x"', '</a>.'],
    ['(https://a.example/x/y)!', '(<a href="https://a.example/x/y"', '</a>)!'],
    ['https://a.example/x."]', '<a href="https://a.example/x"', '</a>.&#34;]'],
    ['https://a.example/x).y', '<a href="https://a.example/x).y"', '</a></div>'],
  ])('%s is a link without what closes the sentence', (given, ...expected) => {
    for (const part of expected) expect(renderUserText(given)).toContain(part);
  });

  it('that is nothing but closers takes no more time than another of its length', () => {
    const worst = `http://${'.'.repeat(3_990)}x`;
    const page = (): void => {
      for (let comment = 0; comment < 50; comment += 1) renderUserText(worst);
    };
    expect(processorMs(page)).toBeLessThan(100);
  });
});
