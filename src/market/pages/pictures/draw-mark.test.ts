import { expect, it } from 'vitest';
import { drawMark, weaveCloth } from './draw-mark.ts';

/** Computes from a mark's dashes where a thread lies on top. */
function topPositionsOf(mark: string): Map<string, string> {
  const places = new Map<string, string>();
  for (const [, name = '', dashes = '', lines = ''] of mark.matchAll(
    /<path class="(\w)" stroke-dasharray="([\d ]+)" d="([^"]+)"\/>/g,
  )) {
    const lengths = dashes.split(' ').map(Number);
    for (const [, x, y, way, length] of lines.matchAll(/M(\d+) (\d+)([hv])(\d+)/g)) {
      for (const at of dashedPositions(lengths, Number(length))) {
        const place = way === 'h' ? placeAt(Number(x) + at, Number(y) - 1) : placeAt(Number(x) - 1, Number(y) + at);
        expect(places.has(place)).toBe(false);
        places.set(place, name);
      }
    }
  }
  return places;
}

const placeAt = (x: number, y: number): string => `${x / 2} ${y / 2}`;

/** Returns the positions, in steps of two, that lie on a dash and not in a gap. */
function dashedPositions(lengths: readonly number[], length: number): number[] {
  const ends: number[] = [];
  for (let dash = 0, end = 0; end < length; dash += 1) {
    end += lengths[dash % lengths.length] ?? 0;
    ends.push(end);
  }
  const starts = Array.from({ length: length / 2 }, (_, place) => 2 * place);
  return starts.filter((at) => ends.findIndex((end) => at < end) % 2 === 0);
}

it('draws each place of the cloth once: the warp in its tones where it is lifted, else the weft', () => {
  for (let merchant = 1; merchant <= 60; merchant += 1) {
    const cloth = weaveCloth(`merchant ${merchant}`);
    const places = topPositionsOf(drawMark({ merchant }, 'large'));
    expect(places.size).toBe(cloth.size ** 2);
    for (const [place, name] of places) {
      const [column = 0, row = 0] = place.split(' ').map(Number);
      const isUp = cloth.isLifted(cloth.treadling[row] ?? 0, cloth.threading[column] ?? 0);
      const tone = cloth.isSecondTone(column) ? 'b' : 'a';
      expect(name, `${merchant}: ${place}`).toBe(isUp ? tone : 'w');
    }
  }
});

it('draws the small form out of the middle of the large one, without its weft', () => {
  for (let listing = 1; listing <= 60; listing += 1) {
    const large = topPositionsOf(drawMark({ listing, aisle: 'data' }, 'large'));
    const small = topPositionsOf(drawMark({ listing, aisle: 'data' }, 'small'));
    for (let column = 0; column < 8; column += 1) {
      for (let row = 0; row < 8; row += 1) {
        const name = large.get(`${column + 8} ${row + 8}`);
        expect(small.get(`${column} ${row}`)).toBe(name === 'w' ? undefined : name);
      }
    }
  }
});

it('looks the same each time, and the mark of another looks otherwise', () => {
  const marks = Array.from({ length: 500 }, (_, at) => drawMark({ listing: at + 1, aisle: 'data' }, 'large'));
  expect(new Set(marks).size).toBe(marks.length);
  expect(drawMark({ listing: 500, aisle: 'data' }, 'large')).toBe(marks.at(-1));
});
