import { button, type Child, element } from './element.ts';
import { safeFileName } from './file-name.ts';
import type { FileView, GoodsView } from './view.ts';

const COUNT = new Intl.NumberFormat('en-GB');

/** Shows goods that are a file: what it is, and how far it is saved. */
export function showFile({ delivery, file }: GoodsView): Child[] {
  const { download } = delivery;
  if (download === null) return [];
  const name = safeFileName(download.filename, delivery.listing_id, download.media_type);
  return [
    element(
      'dl',
      { class: 'facts', id: 'file' },
      element('dt', {}, 'Name'),
      element('dd', {}, element('code', {}, name)),
      element('dt', {}, 'Size'),
      element('dd', {}, `${COUNT.format(download.bytes)} bytes`),
      element('dt', {}, 'SHA-256'),
      // Without the 0x, as other programs print it.
      element('dd', {}, element('code', {}, download.sha256.replace(/^0x/, ''))),
    ),
    ...(file === null ? [] : showSaving(file, name)),
  ];
}

function showSaving({ state, save, collect }: FileView, name: string): Child[] {
  const words = wordsOf(state);
  return [
    words === null ? null : element('p', { id: 'saving', role: 'status' }, words),
    element('div', { class: 'row' }, actionOf({ state, save, collect }, name)),
  ];
}

function wordsOf(state: FileView['state']): string | null {
  switch (state.kind) {
    case 'offered':
      return null;
    case 'saved':
      return state.address === null ? 'The file is saved.' : 'The file is here. If the browser did not save it, do so.';
    default:
      return state.words;
  }
}

function actionOf({ state, save, collect }: FileView, name: string): HTMLElement {
  if (state.kind === 'stopped' && state.mustCollect)
    return button('Collect again', collect, { class: 'main', id: 'again' });
  if (state.kind === 'saved' && state.address !== null) return saveLink(state.address, name);
  return button('Save the file', save, { class: 'main', id: 'save', disabled: state.kind === 'saving' });
}

/** Makes a link that saves what is in memory. */
export function saveLink(address: string, name: string): HTMLAnchorElement {
  return element('a', { class: 'button', href: address, download: name, id: 'save' }, `Save ${name}`);
}
