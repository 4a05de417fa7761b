"""Uses a card with PyKCS11: pykcs11.py MODULE TOKEN FOLDER-OF-CERTIFICATES. 9A and 9D are RSA, 9C is P-256, 82 is P-384."""

import hashlib
import subprocess
import sys
import tempfile

import PyKCS11
from PyKCS11 import PyKCS11Error

MODULE, TOKEN, FOLDER = sys.argv[1:]
PIN = "123456"
MESSAGE = b"what is to be signed"
RSA, ALWAYS, MANAGEMENT, EC = (0x01,), (0x02,), (0x03,), (0x05,)
FILES = {RSA: "auth-9a", ALWAYS: "sign-9c", MANAGEMENT: "keymgmt-9d", EC: "hist1-82"}


def openssl(*arguments, data=b""):
    return subprocess.run(["openssl", *arguments], input=data, stdout=subprocess.PIPE, check=True).stdout


def public_key(key):
    file = tempfile.NamedTemporaryFile()
    file.write(openssl("x509", "-in", f"{FOLDER}/{FILES[key]}.crt", "-noout", "-pubkey"))
    file.flush()
    return file


def ecdsa_der(signature):
    """r and s as OpenSSL has them: ASN.1."""
    half = len(signature) // 2

    def integer(data):
        data = data.lstrip(b"\0") or b"\0"
        data = (b"\0" if data[0] & 0x80 else b"") + data
        return bytes([2, len(data)]) + data

    content = integer(signature[:half]) + integer(signature[half:])
    return bytes([0x30, len(content)]) + content


def verify(key, digest, signature, *options, message=MESSAGE):
    with public_key(key) as file, tempfile.NamedTemporaryFile() as sealed:
        sealed.write(bytes(signature))
        sealed.flush()
        openssl("dgst", f"-{digest}", "-verify", file.name, "-signature", sealed.name, *options, data=message)


def expect(error, action):
    try:
        action()
    except PyKCS11Error as problem:
        assert problem.value == error, problem
    else:
        raise AssertionError(f"{PyKCS11.CKR[error]} was expected")


lib = PyKCS11.PyKCS11Lib()
lib.load(MODULE)
slot = next(s for s in lib.getSlotList(tokenPresent=True) if lib.getTokenInfo(s).label.strip() == TOKEN)
FLAGS = PyKCS11.CKF_SERIAL_SESSION | PyKCS11.CKF_RW_SESSION
session = lib.openSession(slot, FLAGS)


def private(key):
    found = session.findObjects([(PyKCS11.CKA_CLASS, PyKCS11.CKO_PRIVATE_KEY), (PyKCS11.CKA_ID, key)])
    assert len(found) == 1
    return found[0]


def information():
    info = lib.getTokenInfo(slot)
    flags = info.flags2text()
    for flag in ["CKF_TOKEN_INITIALIZED", "CKF_LOGIN_REQUIRED", "CKF_USER_PIN_INITIALIZED", "CKF_WRITE_PROTECTED"]:
        assert flag in flags, flags
    assert (info.ulMinPinLen, info.ulMaxPinLen) == (6, 8)
    assert "CKF_REMOVABLE_DEVICE" in lib.getSlotInfo(slot).flags2text()
    names = lib.getMechanismList(slot)
    assert {"CKM_RSA_PKCS", "CKM_RSA_PKCS_PSS", "CKM_ECDSA", "CKM_ECDH1_DERIVE"} <= set(names)
    for name in names:
        lib.getMechanismInfo(slot, name)


def search_before_login():
    assert len(session.findObjects([(PyKCS11.CKA_CLASS, PyKCS11.CKO_CERTIFICATE)])) == 4
    assert len(session.findObjects([(PyKCS11.CKA_CLASS, PyKCS11.CKO_PUBLIC_KEY)])) == 4
    assert session.findObjects([(PyKCS11.CKA_CLASS, PyKCS11.CKO_PRIVATE_KEY)]) == []
    assert session.findObjects([(PyKCS11.CKA_CLASS, 0xCE534353)]) == []
    everything = session.findObjects()
    labels = [session.getAttributeValue(o, [PyKCS11.CKA_LABEL])[0] for o in everything]
    certificates = session.findObjects([(PyKCS11.CKA_CLASS, PyKCS11.CKO_CERTIFICATE)])
    assert [session.getAttributeValue(c, [PyKCS11.CKA_ID])[0] for c in certificates] == [RSA, ALWAYS, MANAGEMENT, EC]
    assert "PIV Authentication" in labels
    for certificate in certificates:
        key, value = session.getAttributeValue(certificate, [PyKCS11.CKA_ID, PyKCS11.CKA_VALUE])
        assert bytes(value) == openssl("x509", "-in", f"{FOLDER}/{FILES[key]}.crt", "-outform", "DER")
        assert session.findObjects([(PyKCS11.CKA_CLASS, PyKCS11.CKO_CERTIFICATE), (PyKCS11.CKA_VALUE, value)])


def wrong_pin():
    expect(PyKCS11.CKR_PIN_INCORRECT, lambda: session.login("999999"))
    assert "CKF_USER_PIN_COUNT_LOW" in lib.getTokenInfo(slot).flags2text()
    for pin in ["1234", "123456789"]:
        expect(PyKCS11.CKR_PIN_LEN_RANGE, lambda: session.login(pin))
    # PyKCS11 makes of an empty PIN none at all, as for a reader with keys of its own.
    expect(PyKCS11.CKR_ARGUMENTS_BAD, lambda: session.login(""))


def sessions():
    other = lib.openSession(slot)
    assert other.getSessionInfo().state == PyKCS11.CKS_RO_PUBLIC_SESSION
    session.login(PIN)
    assert other.getSessionInfo().state == PyKCS11.CKS_RO_USER_FUNCTIONS
    assert session.getSessionInfo().state == PyKCS11.CKS_RW_USER_FUNCTIONS
    expect(PyKCS11.CKR_USER_ALREADY_LOGGED_IN, lambda: session.login(PIN))
    other.closeSession()
    assert "CKF_USER_PIN_COUNT_LOW" not in lib.getTokenInfo(slot).flags2text()


def attributes():
    names = [
        PyKCS11.CKA_PRIVATE, PyKCS11.CKA_SENSITIVE, PyKCS11.CKA_EXTRACTABLE, PyKCS11.CKA_SIGN,
        PyKCS11.CKA_ALWAYS_AUTHENTICATE, PyKCS11.CKA_KEY_TYPE,
    ]
    assert session.getAttributeValue(private(RSA), names) == [True, True, False, True, False, PyKCS11.CKK_RSA]
    assert session.getAttributeValue(private(ALWAYS), names) == [True, True, False, True, True, PyKCS11.CKK_EC]
    # What it does not tell is left out, and spoils nothing.
    told = session.getAttributeValue(private(RSA), [PyKCS11.CKA_PRIVATE_EXPONENT, PyKCS11.CKA_ID], allAsBinary=False)
    assert told[0] is None and told[1] == RSA, told


def sign_rsa():
    for name in ["SHA1", "SHA224", "SHA256", "SHA384", "SHA512"]:
        mechanism = PyKCS11.Mechanism(getattr(PyKCS11, f"CKM_{name}_RSA_PKCS"))
        verify(RSA, name.lower(), session.sign(private(RSA), MESSAGE, mechanism))
    prefix = bytes.fromhex("3031300d060960864801650304020105000420")
    information = prefix + hashlib.sha256(MESSAGE).digest()
    verify(RSA, "sha256", session.sign(private(RSA), information, PyKCS11.Mechanism(PyKCS11.CKM_RSA_PKCS)))


def sign_pss():
    options = ["-sigopt", "rsa_padding_mode:pss", "-sigopt", "rsa_pss_saltlen:32"]
    parameters = (PyKCS11.CKM_SHA256, PyKCS11.CKG_MGF1_SHA256, 32)
    raw = PyKCS11.RSA_PSS_Mechanism(PyKCS11.CKM_RSA_PKCS_PSS, *parameters)
    verify(RSA, "sha256", session.sign(private(RSA), hashlib.sha256(MESSAGE).digest(), raw), *options)
    hashed = PyKCS11.RSA_PSS_Mechanism(PyKCS11.CKM_SHA256_RSA_PKCS_PSS, *parameters)
    verify(RSA, "sha256", session.sign(private(RSA), MESSAGE, hashed), *options)


def sign_ecdsa():
    raw = PyKCS11.Mechanism(PyKCS11.CKM_ECDSA)
    signature = session.sign(private(EC), hashlib.sha384(MESSAGE).digest(), raw)
    assert len(signature) == 96
    verify(EC, "sha384", ecdsa_der(bytes(signature)))
    for name in ["SHA256", "SHA384", "SHA512"]:
        hashed = PyKCS11.Mechanism(getattr(PyKCS11, f"CKM_ECDSA_{name}"))
        verify(EC, name.lower(), ecdsa_der(bytes(session.sign(private(EC), MESSAGE, hashed))))


def sign_with_the_key_that_wants_the_pin_each_time():
    mechanism = PyKCS11.Mechanism(PyKCS11.CKM_ECDSA_SHA256)
    session.logout()
    session.login(PIN)
    # PyKCS11 asks for the length first: that uses up nothing.
    verify(ALWAYS, "sha256", ecdsa_der(bytes(session.sign(private(ALWAYS), MESSAGE, mechanism))))
    expect(PyKCS11.CKR_USER_NOT_LOGGED_IN, lambda: session.sign(private(ALWAYS), MESSAGE, mechanism))
    # A failure keeps nobody from the next.
    verify(RSA, "sha256", session.sign(private(RSA), MESSAGE, PyKCS11.Mechanism(PyKCS11.CKM_SHA256_RSA_PKCS)))


def lengths():
    def length(mechanism, key, buffer):
        assert lib.lib.C_SignInit(session.session, mechanism.to_native(), private(key)) == PyKCS11.CKR_OK
        return lib.lib.C_Sign(session.session, PyKCS11.ckbytelist(hashlib.sha256(MESSAGE).digest()), buffer)

    for mechanism, key, count in [
        (PyKCS11.Mechanism(PyKCS11.CKM_RSA_PKCS), RSA, 256), (PyKCS11.Mechanism(PyKCS11.CKM_ECDSA), EC, 96),
    ]:
        buffer = PyKCS11.ckbytelist()
        assert length(mechanism, key, buffer) == PyKCS11.CKR_OK and len(buffer) == count
        # The operation goes on, a buffer that is too small does not end it either, and then it does its work.
        small = PyKCS11.ckbytelist([0] * (count - 1))
        data = PyKCS11.ckbytelist(hashlib.sha256(MESSAGE).digest())
        assert lib.lib.C_Sign(session.session, data, small) == PyKCS11.CKR_BUFFER_TOO_SMALL
        assert lib.lib.C_Sign(session.session, data, buffer) == PyKCS11.CKR_OK and len(buffer) == count
        assert lib.lib.C_Sign(session.session, data, buffer) == PyKCS11.CKR_OPERATION_NOT_INITIALIZED


def decrypt():
    for mechanism, options in [
        (PyKCS11.Mechanism(PyKCS11.CKM_RSA_PKCS), []),
        (
            PyKCS11.RSAOAEPMechanism(PyKCS11.CKM_SHA256, PyKCS11.CKG_MGF1_SHA256),
            ["rsa_padding_mode:oaep", "rsa_oaep_md:sha256", "rsa_mgf1_md:sha256"],
        ),
    ]:
        with public_key(MANAGEMENT) as file:
            extra = [word for option in options for word in ("-pkeyopt", option)]
            sealed = openssl("pkeyutl", "-encrypt", "-pubin", "-inkey", file.name, *extra, data=MESSAGE)
        assert bytes(session.decrypt(private(MANAGEMENT), sealed, mechanism)) == MESSAGE
    expect_bad = lambda: session.decrypt(private(MANAGEMENT), bytes(255), PyKCS11.Mechanism(PyKCS11.CKM_RSA_PKCS))
    expect(PyKCS11.CKR_ENCRYPTED_DATA_LEN_RANGE, expect_bad)


def derive():
    with tempfile.TemporaryDirectory() as folder:
        ours = f"{folder}/ours"
        openssl("genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-384", "-out", ours)
        point = openssl("pkey", "-in", ours, "-pubout", "-outform", "DER")[-97:]
        with public_key(EC) as file:
            agreed = openssl("pkeyutl", "-derive", "-inkey", ours, "-peerkey", file.name)
    template = [
        (PyKCS11.CKA_CLASS, PyKCS11.CKO_SECRET_KEY), (PyKCS11.CKA_KEY_TYPE, PyKCS11.CKK_GENERIC_SECRET),
        (PyKCS11.CKA_SENSITIVE, False), (PyKCS11.CKA_EXTRACTABLE, True), (PyKCS11.CKA_TOKEN, False),
    ]
    for mechanism in [PyKCS11.CKM_ECDH1_DERIVE, PyKCS11.CKM_ECDH1_COFACTOR_DERIVE]:
        request = PyKCS11.ECDH1_DERIVE_Mechanism(point)
        request._mech.mechanism = mechanism
        secret = session.deriveKey(private(EC), template, request)
        assert bytes(session.getAttributeValue(secret, [PyKCS11.CKA_VALUE])[0]) == agreed
        session.destroyObject(secret)


def digest_and_random():
    for name in ["SHA_1", "SHA256", "SHA384", "SHA512"]:
        expected = hashlib.new(name.replace("_", "").lower(), MESSAGE).digest()
        assert bytes(session.digest(MESSAGE, PyKCS11.Mechanism(getattr(PyKCS11, f"CKM_{name}")))) == expected
    assert len(session.generateRandom(32)) == 32 and session.generateRandom(32) != session.generateRandom(32)


def writing():
    expect(PyKCS11.CKR_TOKEN_WRITE_PROTECTED, lambda: session.destroyObject(private(RSA)))
    template = [(PyKCS11.CKA_CLASS, PyKCS11.CKO_DATA), (PyKCS11.CKA_TOKEN, True), (PyKCS11.CKA_VALUE, (1, 2))]
    expect(PyKCS11.CKR_TOKEN_WRITE_PROTECTED, lambda: session.createObject(template))


def logout():
    key = private(RSA)
    session.logout()
    assert session.findObjects([(PyKCS11.CKA_CLASS, PyKCS11.CKO_PRIVATE_KEY)]) == []
    mechanism = PyKCS11.Mechanism(PyKCS11.CKM_SHA256_RSA_PKCS)
    expect(PyKCS11.CKR_KEY_HANDLE_INVALID, lambda: session.sign(key, MESSAGE, mechanism))
    expect(PyKCS11.CKR_USER_NOT_LOGGED_IN, session.logout)
    session.closeSession()


for case in [
    information, search_before_login, wrong_pin, sessions, attributes, sign_rsa, sign_pss, sign_ecdsa,
    sign_with_the_key_that_wants_the_pin_each_time, lengths, decrypt, derive, digest_and_random, writing, logout,
]:
    case()
    print(case.__name__)
print("all cases passed")
