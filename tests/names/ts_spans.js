// Prints PATH<tab>NAME<tab>FIRST<tab>LAST for each declaration of the TypeScript and JavaScript files whose paths are on
// stdin, as TypeScript's own parser has them, with decorators and the JSDoc directly above.
const ts = require("typescript");
const fs = require("fs");

for (const path of fs.readFileSync(0, "utf8").split("\n").filter(Boolean)) {
  const text = fs.readFileSync(path, "utf8");
  const file = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  if (file.parseDiagnostics.length > 0) continue;
  const line = (at) => file.getLineAndCharacterOfPosition(at).line + 1;
  const tell = (node, around, name) => {
    let first = line(node.getStart(file, false));
    for (const doc of [...(node.jsDoc ?? [])].reverse()) {
      if (line(doc.end) + 1 !== first && line(doc.end) !== first) break;
      first = line(doc.pos);
    }
    console.log([path, around + name, first, line(node.end)].join("\t"));
  };
  const nameOf = (node) =>
    node.name && (ts.isIdentifier(node.name) || ts.isPrivateIdentifier(node.name)) ? node.name.text : undefined;
  const visit = (nodes, around) => {
    for (const node of nodes) {
      const name = nameOf(node);
      if (ts.isVariableStatement(node)) {
        const [only, ...more] = node.declarationList.declarations;
        if (more.length === 0 && nameOf(only)) tell(node, around, nameOf(only));
      } else if (ts.isModuleDeclaration(node) && name && name !== "global" && node.body && ts.isModuleBlock(node.body)) {
        tell(node, around, name);
        visit(node.body.statements, around + name + ".");
      } else if (ts.isClassDeclaration(node) || ts.isInterfaceDeclaration(node) || ts.isEnumDeclaration(node)) {
        if (!name) continue;
        tell(node, around, name);
        for (const member of node.members) {
          if (nameOf(member)) tell(member, around + name + ".", nameOf(member));
          else if (ts.isConstructorDeclaration(member)) tell(member, around + name + ".", "constructor");
        }
      } else if ((ts.isFunctionDeclaration(node) || ts.isTypeAliasDeclaration(node)) && name) {
        tell(node, around, name);
      }
    }
  };
  visit(file.statements, "");
}
