import { findChromium } from './find-chromium.ts';

/** Finds or installs Chromium in one process, because parallel installations by workers would collide. */
export default function setup(): void {
  findChromium();
}
