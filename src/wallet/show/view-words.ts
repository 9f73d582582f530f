import type { Missing } from '../keep/find-ground.ts';
import type { View } from './view.ts';

export const UNSAFE_WORDS: Readonly<Record<Missing, string>> = {
  insecure: 'This page came over a connection that others can change on the way. Buying here would not be safe.',
  no_storage:
    'This browser keeps nothing for this site, as in a private window or where site data is blocked. A payment could not be found again after a reload, so buying here would not be safe.',
  no_locks: 'This browser cannot keep two tabs from paying twice. Buying here would not be safe; a newer one can.',
};

/** What the page says first about where things stand. */
export function titleOf(view: View): string {
  switch (view.kind) {
    case 'unsafe':
      return 'Buying here would not be safe';
    case 'waiting':
    case 'wallets':
      return view.title;
    case 'free':
      return 'It is free';
    case 'closed':
      return 'Not for sale any more';
    case 'confirm':
      return view.purpose === 'pay' ? 'This is what you sign' : 'Sign to show that you paid';
    case 'progress':
      return progressTitle(view.record.transfer !== null, view.record.at.final !== undefined);
    case 'elsewhere':
      return 'Under way in another tab';
    case 'trouble':
      return view.trouble.title;
    case 'sign_to_read':
      return 'Sign to read it again';
    case 'goods':
      return view.published === view.computed ? 'Your goods' : 'Not what was promised';
  }
}

function progressTitle(isSettled: boolean, isFinal: boolean): string {
  if (isFinal) return 'The payment is final';
  return isSettled ? 'Waiting for the transfer to be final' : 'The payment is on its way';
}
