import { findChromium } from './find-chromium.ts';

/** Finds or installs Chromium in one process: workers that install it side by side are in each other's way. */
export default function setup(): void {
  findChromium();
}
