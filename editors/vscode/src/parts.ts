// Content blocks as the parts of a tool's result; nothing is left out, and text is never changed.
import * as vscode from "vscode";
import type { ContentBlock, ReadManyResult } from "../api/index";
import { Refused } from "./refusal";

type Part = vscode.LanguageModelTextPart | vscode.LanguageModelDataPart;

export function parts(content: readonly ContentBlock[]): Part[] {
  return content.map((block) => {
    switch (block.type) {
      case "text":
        return new vscode.LanguageModelTextPart(block.text);
      case "image":
        return vscode.LanguageModelDataPart.image(Buffer.from(block.data, "base64"), block.mimeType);
      case "resource":
        return new vscode.LanguageModelDataPart(Buffer.from(block.resource.blob, "base64"), block.resource.mimeType);
    }
  });
}

/** The results of several reads, in their order; one that failed is its message. */
export function partsOfMany({ results }: ReadManyResult): Part[] {
  return results.flatMap(({ ok, error }) =>
    ok ? parts(ok.content) : [new vscode.LanguageModelTextPart(new Refused(error).forModel())],
  );
}

/** Content as a text for people: images and attachments are named. */
export function asText(content: readonly ContentBlock[]): string {
  const texts = content.map((block) => {
    switch (block.type) {
      case "text":
        return block.text;
      case "image":
        return `[${block.mimeType}, ${Buffer.byteLength(block.data, "base64")} bytes]`;
      case "resource":
        return `[${block.resource.mimeType}, ${Buffer.byteLength(block.resource.blob, "base64")} bytes: ${block.resource.uri}]`;
    }
  });
  return texts.join("\n");
}
