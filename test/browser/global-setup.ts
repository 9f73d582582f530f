import { findChromium } from './find-chromium.ts';

/** Finds or installs Chromium in one process, because workers that install it in parallel collide. */
export default function setup(): void {
  findChromium();
}
