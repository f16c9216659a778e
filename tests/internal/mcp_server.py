"""A small MCP server over stdio, without any library, that behaves as its arguments say.

mcp_server.py LOG [BEHAVIOUR…]; it appends one line to LOG for each start and each request. Behaviours:
new         the revision 2026-07-28 alone (else `initialize` alone)
silent      says nothing to what it does not know
mute        never answers anything
dies        ends at once
stubborn    heeds neither the end of its input nor SIGTERM
child       starts a process of its own, in its group, that heeds neither
floods      writes to stderr as fast as it can
chatters    writes lines to stdout that are no messages
many        lists 1,500 resources
listed=URI  lists that URI, too
file=URI=PATH  has the bytes of that file under that URI, and lists it
holding     says that its lists hold for ten minutes, and that it never tells of changes
silent-lists  never tells of changes, and not for how long its lists hold
asks        asks its client for folders, for a model and for its user before it answers a read
template=T  has that template, too
"""

import base64
import json
import os
import signal
import subprocess
import sys
import threading
import time

LOG = sys.argv[1]
BEHAVIOURS = sys.argv[2:]
NEW = "new" in BEHAVIOURS
SUBSCRIPTION = "io.modelcontextprotocol/subscriptionId"

lock = threading.Lock()
reads = 0
resources = [
    {"uri": "demo://a", "name": "first", "mimeType": "text/plain", "description": "First\nof all", "size": 4},
    {"uri": "demo://b:12", "name": "colon"},
    {"uri": "demo://dynamic", "name": "dynamic"},
]
resources += [{"uri": b[7:], "name": "listed"} for b in BEHAVIOURS if b.startswith("listed=")]
files = dict(b[5:].split("=", 1) for b in BEHAVIOURS if b.startswith("file="))
resources += [{"uri": uri, "name": "a file"} for uri in files]
if "many" in BEHAVIOURS:
    resources = [{"uri": f"demo://{n}", "name": str(n)} for n in range(1500)]
templates = [{"uriTemplate": "demo://t/{id}", "name": "t"}]
templates += [{"uriTemplate": b[9:], "name": "t"} for b in BEHAVIOURS if b.startswith("template=")]
listening = None


def log(line):
    with open(LOG, "a") as file:
        file.write(line + "\n")


def send(message):
    line = message if isinstance(message, str) else json.dumps({"jsonrpc": "2.0", **message})
    with lock:
        sys.stdout.write(line + "\n")
        sys.stdout.flush()


def contents(uri):
    """What a resource holds; None where there is none."""
    global reads
    reads += 1
    if uri == "demo://a":
        return [{"uri": uri, "mimeType": "text/plain", "text": "one\ntwo\n"}]
    if uri == "demo://b:12":
        return [{"uri": uri, "text": "with a colon\nand a second line\n"}]
    if uri == "demo://dynamic":
        return [{"uri": uri, "text": "".join(f"{reads}-{n}\n" for n in range(1, 41))}]
    if uri == "demo://lines":
        return [{"uri": uri, "text": "one\ntwo\nthree\n"}]
    if uri == "demo://bytes":
        return [{"uri": uri, "mimeType": "application/x-thing", "blob": base64.b64encode(b"\0\1\2\xff").decode()}]
    if uri == "demo://environment":
        seen = {"environment": dict(os.environ), "directory": os.getcwd()}
        return [{"uri": uri, "mimeType": "application/json", "text": json.dumps(seen)}]
    if uri == "demo://holds":
        return [{"uri": uri, "text": f"read {reads} times\n"}]
    if uri == "demo://long":
        return [{"uri": uri, "text": "x" * (17 << 20)}]
    if uri == "demo://longer":
        return [{"uri": uri, "text": "x" * (40 << 20)}]
    if uri in files:
        with open(files[uri], "rb") as file:
            return [{"uri": uri, "blob": base64.b64encode(file.read()).decode()}]
    if uri.startswith("file:"):
        return [{"uri": uri, "text": "what the server reads there\n"}]
    if uri.startswith("demo://t/") or {"uri": uri, "name": "listed"} in resources:
        return [{"uri": uri, "text": f"this is {uri}\n"}]
    return None


def listed(key, entries, params):
    begin = int(params.get("cursor", 0))
    page = {key: entries[begin : begin + 400]}
    if begin + 400 < len(entries):
        page["nextCursor"] = str(begin + 400)
    if "holding" in BEHAVIOURS:
        page["ttlMs"] = 600_000
    return page


def answer(method, params):
    """The result of a request, or the code and the message of an error."""
    tells = not {"holding", "silent-lists"} & set(BEHAVIOURS)
    capabilities = {"resources": {"listChanged": tells}}
    own = {"name": "small", "version": "1"}
    if method == "server/discover" and NEW:
        return {"supportedVersions": ["2026-07-28"], "capabilities": capabilities, "ttlMs": 0, "cacheScope": "private"}
    if method == "initialize" and not NEW:
        return {"protocolVersion": params["protocolVersion"], "capabilities": capabilities, "serverInfo": own}
    if method == "resources/list":
        return listed("resources", resources, params)
    if method == "resources/templates/list":
        return listed("resourceTemplates", templates, params)
    if method == "resources/read" and "asks" in BEHAVIOURS:
        ask()
    if method != "resources/read":
        return (-32601, "Method not found")
    uri = params["uri"]
    if uri == "demo://wait":
        time.sleep(3600)
    if uri == "demo://die":
        os._exit(3)
    if uri == "demo://ask":
        return {"resultType": "input_required", "inputRequests": {}}
    if uri == "demo://refuse":
        return (-32000, "not\ntoday " + "far " * 200)
    if uri == "demo://garbage":
        return {"contents": 7}
    if uri == "demo://add":
        resources.append({"uri": "demo://added", "name": "listed"})
        changed()
    held = contents(uri) if uri != "demo://add" else [{"uri": uri, "text": "added\n"}]
    if held is None:
        return (-32002, f"there is no {uri}")
    result = {"contents": held}
    if uri == "demo://holds":
        result["ttlMs"] = 600_000
    return result


def ask():
    """Asks for what no client of resources has to give; what is answered is in the log."""
    message = {"role": "user", "content": {"type": "text", "text": "Hello?"}}
    sampling = {"messages": [message], "maxTokens": 10}
    schema = {"type": "object", "properties": {"name": {"type": "string"}}}
    send({"id": "folders", "method": "roots/list"})
    send({"id": "model", "method": "sampling/createMessage", "params": sampling})
    send({"id": "user", "method": "elicitation/create", "params": {"message": "Who?", "requestedSchema": schema}})


def changed():
    params = {"_meta": {SUBSCRIPTION: listening}} if NEW else {}
    send({"method": "notifications/resources/list_changed", "params": params})


def serve(message):
    global listening
    method, params, number = message["method"], message.get("params", {}), message.get("id")
    log(f"{method} {params.get('uri') or params.get('requestId') or ''}".strip())
    if method == "initialize":
        log(f"offered {json.dumps(params['capabilities'])}")
    if number is None or "mute" in BEHAVIOURS:
        return
    if method == "subscriptions/listen" and NEW:
        listening = number
        params = {"notifications": params["notifications"], "_meta": {SUBSCRIPTION: number}}
        return send({"method": "notifications/subscriptions/acknowledged", "params": params})
    result = answer(method, params)
    if isinstance(result, tuple):
        if "silent" in BEHAVIOURS and result[0] == -32601:
            return
        return send({"id": number, "error": {"code": result[0], "message": result[1]}})
    if NEW:
        result = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private", **result}
    send({"id": number, "result": result})


def flood():
    while True:
        os.write(2, b"a line of stderr that nobody wants to read\n" * 1000)


log(f"start {os.getpid()}")
if "dies" in BEHAVIOURS:
    sys.stderr.write("cannot find my license\n")
    sys.exit(1)
if "stubborn" in BEHAVIOURS:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
if "child" in BEHAVIOURS:
    code = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(3600)"
    child = subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    log(f"child {child.pid}")
if "floods" in BEHAVIOURS:
    threading.Thread(target=flood, daemon=True).start()
if "chatters" in BEHAVIOURS:
    send("Welcome to the server!")
    send('{"half": ')
for line in sys.stdin:
    message = json.loads(line)
    if "method" in message:
        threading.Thread(target=serve, args=(message,), daemon=True).start()
    else:
        given = message.get("result") or message["error"]["code"]
        log(f"answered {message['id']} {json.dumps(given)}")
log("end of input")
if "stubborn" in BEHAVIOURS:
    time.sleep(3600)
os._exit(0)
