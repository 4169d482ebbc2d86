/** The package that a command puts in place, when that is all that it does. */
export function nodePackageIn(install: string): string | undefined {
  return oneOfNode.exec(install)?.groups?.name;
}

/** One package of Node's, by its bare name. */
const oneOfNode =
  /^(npm i(nstall)? -g|(pnpm|bun) add -g|yarn global add) (?<name>(@[\w.-]+\/)?[\w.-]+)$/;
