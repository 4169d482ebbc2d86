/**
 * What somebody reads who is shown the output of a program: its colours and
 * links are gone, and what it strikes twice, as man does, is there once.
 */
export function plainText(output: string): string {
  return output
    .replace(titlesAndLinks, '')
    .replace(colours, '')
    .replace(otherEscapes, '')
    .replace(struckOver, '')
    .replace(otherControls, '');
}

const titlesAndLinks = /\u001b\][^\u0007\u001b]*(?:\u0007|\u001b\\)/g;
const colours = /\u001b\[[0-?]*[ -/]*[@-~]/g;
const otherEscapes = /\u001b[ -/]*[0-~]/g;
const struckOver = /[^\n]\u0008(?=\S)/g;
const otherControls = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f]/g;
