/** Of a picture for links, in pixels: what those who show them ask for. */
export const CARD = { width: 1200, height: 630 } as const;
