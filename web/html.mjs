import htm from 'htm';
import { h } from 'preact';

/** Templates without a compiler and without HTML strings. */
export const html = htm.bind(h);
